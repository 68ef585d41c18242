package dev.banyan;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/** Rules that module boundaries do not enforce: directions between packages of one module, and libraries. */
@AnalyzeClasses(packages = "dev.banyan", importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {
    /** The packages below {@code dev.banyan.cuda}, each with those that it may depend on. */
    private static final Map<String, Set<String>> CUDA = Map.ofEntries(
            Map.entry("type", Set.of()),
            Map.entry("internal.ptx", Set.of()),
            Map.entry("internal.driver", Set.of("type", "internal.ptx")),
            Map.entry("internal.memory", Set.of("internal.driver")),
            Map.entry("internal.peer", Set.of("type", "internal.ptx", "internal.driver", "internal.memory")),
            Map.entry("internal.job", Set.of("type", "internal.driver", "internal.memory", "internal.peer")),
            Map.entry("internal.launch", Set.of("type", "internal.driver", "internal.memory", "internal.job")),
            Map.entry(
                    "internal.graph",
                    Set.of(
                            "type",
                            "internal.ptx",
                            "internal.driver",
                            "internal.memory",
                            "internal.peer",
                            "internal.launch")),
            Map.entry(
                    "internal.program",
                    Set.of(
                            "type",
                            "internal.ptx",
                            "internal.driver",
                            "internal.memory",
                            "internal.peer",
                            "internal.launch")),
            Map.entry(
                    "internal.symmetric",
                    Set.of(
                            "type",
                            "internal.ptx",
                            "internal.driver",
                            "internal.memory",
                            "internal.peer",
                            "internal.program")),
            Map.entry(
                    "internal.nccl",
                    Set.of("type", "internal.driver", "internal.memory", "internal.launch", "internal.program")));

    @ArchTest
    static final ArchRule packagesHaveNoCycles =
            slices().matching("dev.banyan.(**)").should().beFreeOfCycles();

    @ArchTest
    static void partsOfTheCudaBackendDependOnThoseBelow(JavaClasses all) {
        CUDA.forEach((part, below) -> noClasses()
                .that()
                .resideInAPackage("dev.banyan.cuda." + part)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(notAllowed(part, below))
                .check(all));
    }

    private static String[] notAllowed(String part, Set<String> below) {
        Stream<String> others = CUDA.keySet().stream()
                .filter(other -> !other.equals(part) && !below.contains(other))
                .map(other -> "dev.banyan.cuda." + other);
        return Stream.concat(Stream.of("dev.banyan.cuda"), others).toArray(String[]::new);
    }

    @ArchTest
    static final ArchRule schedulesKnowNeitherTreesNorMachines = noClasses()
            .that()
            .resideInAnyPackage("dev.banyan.schedule", "dev.banyan.schedule.type")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("dev.banyan.trees..", "dev.banyan.topology..");

    @ArchTest
    static final ArchRule settingsKnowNoModuleThatDeclaresThem = classes()
            .that()
            .resideInAPackage("dev.banyan.config..")
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(
                    "dev.banyan",
                    "dev.banyan.config..",
                    "java..",
                    "jakarta.json..",
                    "org.eclipse.parsson..",
                    "org.jspecify..");

    @ArchTest
    static final ArchRule onePackageKnowsTheParserOfJson = noClasses()
            .that()
            .resideOutsideOfPackage("dev.banyan.config.internal.json")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("org.eclipse.parsson..");

    @ArchTest
    static final ArchRule backendsKnowNoTrees = noClasses()
            .that()
            .resideInAnyPackage(
                    "dev.banyan.reduce.backend..",
                    "dev.banyan.reduce.internal.host..",
                    "dev.banyan.reduce.internal..",
                    "dev.banyan.cuda..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("dev.banyan.trees..", "dev.banyan.schedule.internal.algorithm..");

    @ArchTest
    static final ArchRule topologyUsesOnlyItsLibraries = classes()
            .that()
            .resideInAPackage("dev.banyan.topology..")
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(
                    "dev.banyan",
                    "dev.banyan.topology..",
                    "dev.banyan.config.internal..",
                    "java..",
                    "javax.xml..",
                    "org.xml.sax..",
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
                    "org.apache.commons.numbers..",
                    "org.jspecify..");

    @ArchTest
    static final ArchRule probesUseOnlyTopologyAndSettings = classes()
            .that()
            .resideInAPackage("dev.banyan.nvml..")
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(
                    "dev.banyan",
                    "dev.banyan.nvml..",
                    "dev.banyan.topology..",
                    "dev.banyan.config..",
                    "java..",
                    "org.jspecify..");
}
