package dev.banyan.reduce.internal.kernel;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Makes one class per operation out of a kernel that is written once per type. A template reads its
 * {@link KernelSpec} into a static final field; each operation gets a copy of the template's class file
 * as a hidden class, with its own constant and its own compiled loops. In one shared loop the operation
 * would be a megamorphic call, which can be neither inlined nor vectorised.
 */
final class KernelTemplates {
    private record Key(Class<? extends Kernel> template, KernelSpec spec) {}

    private static final Map<Key, MethodHandle> CONSTRUCTORS = new ConcurrentHashMap<>();

    private KernelTemplates() {}

    /**
     * Returns a kernel of a template's copy for the operation.
     *
     * @param blockElements greatest number of elements of one call
     */
    static Kernel create(Class<? extends Kernel> template, KernelSpec spec, int blockElements) {
        MethodHandle constructor = CONSTRUCTORS.computeIfAbsent(new Key(template, spec), KernelTemplates::copy);
        try {
            return (Kernel) constructor.invokeExact(blockElements);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError("constructor of " + template.getName() + " threw a checked exception", e);
        }
    }

    /** Returns the type and the operation for which the calling template was copied. */
    static KernelSpec specOf(MethodHandles.Lookup template) {
        try {
            KernelSpec spec = MethodHandles.classData(template, "_", KernelSpec.class);
            if (spec == null) {
                throw new IllegalStateException(template.lookupClass() + " is a template; it works only as a copy");
            }
            return spec;
        } catch (IllegalAccessException e) {
            throw new AssertionError("a template's own lookup has full access", e);
        }
    }

    private static MethodHandle copy(Key key) {
        String file = key.template().getSimpleName() + ".class";
        try (InputStream in = key.template().getResourceAsStream(file)) {
            if (in == null) {
                throw new IllegalStateException(
                        "no " + file + " beside the class of that name; keep class files in the jar");
            }
            MethodHandles.Lookup copy =
                    MethodHandles.lookup().defineHiddenClassWithClassData(in.readAllBytes(), key.spec(), true);
            return copy.findConstructor(copy.lookupClass(), MethodType.methodType(void.class, int.class))
                    .asType(MethodType.methodType(Kernel.class, int.class));
        } catch (IOException e) {
            throw new UncheckedIOException("can't read " + file, e);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError(
                    "a template needs a constructor of one int: "
                            + key.template().getName(),
                    e);
        }
    }
}
