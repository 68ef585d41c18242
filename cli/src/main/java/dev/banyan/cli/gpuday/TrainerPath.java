package dev.banyan.cli.gpuday;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** A class path that may hold the example of a trainer, Banyan's part for DJL, and PyTorch for CUDA. */
final class TrainerPath {
    static final String MAIN = "dev.banyan.examples.mnist.TrainMnist";

    /** What PyTorch's native part says of itself. */
    private static final String PYTORCH = "native/lib/pytorch.properties";

    private TrainerPath() {}

    /** What it lacks; empty if it has all. */
    static Optional<String> lacks(String classPath) {
        try (URLClassLoader loader = new URLClassLoader(urls(classPath), ClassLoader.getPlatformClassLoader())) {
            if (loader.getResource("dev/banyan/djl/Banyan.class") == null) {
                return Optional.of("banyan-djl");
            }
            if (loader.getResource(MAIN.replace('.', '/') + ".class") == null) {
                return Optional.of("the example train-mnist");
            }
            try (InputStream properties = loader.getResourceAsStream(PYTORCH)) {
                return properties != null
                                && new String(properties.readAllBytes(), StandardCharsets.UTF_8).contains("flavor=cu")
                        ? Optional.empty()
                        : Optional.of("a PyTorch for CUDA (pytorch-native-cu128)");
            }
        } catch (IOException e) {
            return Optional.of("jars that can be read (" + e.getMessage() + ")");
        }
    }

    private static URL[] urls(String classPath) throws MalformedURLException {
        List<URL> urls = new ArrayList<>();
        for (String entry : classPath.split(File.pathSeparator, -1)) {
            urls.add(Path.of(entry).toUri().toURL());
        }
        return urls.toArray(URL[]::new);
    }
}
