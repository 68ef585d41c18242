package dev.banyan.djl;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

/** Here and not with the other rules, since the command, which has those, does without DJL. */
@AnalyzeClasses(packages = "dev.banyan.djl", importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {
    @ArchTest
    static final ArchRule onlyOneClassLooksIntoDjl = noClasses()
            .that()
            .doNotHaveSimpleName("DjlInternals")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("java.lang.reflect..");
}
