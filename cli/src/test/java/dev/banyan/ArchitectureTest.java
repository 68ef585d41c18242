package dev.banyan;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

/** The way of the data has one direction: topology, trees, reduce, simulate, command; probes serve topology. */
@AnalyzeClasses(packages = "dev.banyan", importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {
    @ArchTest
    static final ArchRule modulesDependInOneDirection = layeredArchitecture()
            .consideringOnlyDependenciesInLayers()
            .layer("topology")
            .definedBy("dev.banyan.topology..")
            .layer("trees")
            .definedBy("dev.banyan.trees..")
            .layer("reduce")
            .definedBy("dev.banyan.reduce..")
            .layer("simulate")
            .definedBy("dev.banyan.simulate..")
            .layer("nvml")
            .definedBy("dev.banyan.nvml..")
            .layer("mpi")
            .definedBy("dev.banyan.mpi..")
            .layer("cli")
            .definedBy("dev.banyan.cli..")
            .whereLayer("cli")
            .mayNotBeAccessedByAnyLayer()
            .whereLayer("mpi")
            .mayOnlyBeAccessedByLayers("cli")
            .whereLayer("nvml")
            .mayNotBeAccessedByAnyLayer()
            .whereLayer("simulate")
            .mayOnlyBeAccessedByLayers("cli")
            .whereLayer("reduce")
            .mayOnlyBeAccessedByLayers("simulate", "mpi", "cli")
            .whereLayer("trees")
            .mayOnlyBeAccessedByLayers("reduce", "simulate", "cli");

    @ArchTest
    static final ArchRule packagesHaveNoCycles =
            slices().matching("dev.banyan.(**)").should().beFreeOfCycles();

    @ArchTest
    static final ArchRule schedulesKnowNeitherTreesNorMachines = noClasses()
            .that()
            .resideInAPackage("dev.banyan.reduce.schedule..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("dev.banyan.trees..", "dev.banyan.topology..");

    @ArchTest
    static final ArchRule backendsKnowNoTrees = noClasses()
            .that()
            .resideInAnyPackage("dev.banyan.reduce.backend..", "dev.banyan.reduce.host..", "dev.banyan.reduce.cuda..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("dev.banyan.trees..", "dev.banyan.topology..", "dev.banyan.reduce.algorithm..");

    @ArchTest
    static final ArchRule topologyUsesOnlyItsLibraries = classes()
            .that()
            .resideInAPackage("dev.banyan.topology..")
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(
                    "dev.banyan.topology..",
                    "java..",
                    "javax.xml..",
                    "org.xml.sax..",
                    "com.fasterxml.jackson.core..",
                    "org.jspecify..");

    @ArchTest
    static final ArchRule treesUseOnlyTopologyAndMathematics = classes()
            .that()
            .resideInAPackage("dev.banyan.trees..")
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(
                    "dev.banyan.trees..",
                    "dev.banyan.topology..",
                    "java..",
                    "javax.xml.stream..",
                    "org.ojalgo..",
                    "org.apache.commons.numbers..",
                    "org.jspecify..");

    @ArchTest
    static final ArchRule simulatorRunsNothing = noClasses()
            .that()
            .resideInAPackage("dev.banyan.simulate..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("dev.banyan.reduce.backend..", "dev.banyan.reduce.host..", "dev.banyan.reduce.cuda..");

    @ArchTest
    static final ArchRule onlyTheCudaBackendKnowsCuda = noClasses()
            .that()
            .resideOutsideOfPackage("dev.banyan.reduce.cuda..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("jcuda..");

    @ArchTest
    static final ArchRule probesUseOnlyTopology = classes()
            .that()
            .resideInAPackage("dev.banyan.nvml..")
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage("dev.banyan.nvml..", "dev.banyan.topology..", "java..", "org.jspecify..");

    @ArchTest
    static final ArchRule mpiIsReachedThroughTheForeignFunctionsAlone = classes()
            .that()
            .resideInAPackage("dev.banyan.mpi..")
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage("dev.banyan.mpi..", "dev.banyan.reduce..", "java..", "org.slf4j..", "org.jspecify..");
}
