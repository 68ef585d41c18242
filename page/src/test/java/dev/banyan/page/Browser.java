package dev.banyan.page;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.logging.Level;
import org.jspecify.annotations.Nullable;
import org.openqa.selenium.By;
import org.openqa.selenium.Dimension;
import org.openqa.selenium.JavascriptExecutor;
import org.openqa.selenium.OutputType;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;
import org.openqa.selenium.interactions.Actions;
import org.openqa.selenium.logging.LogEntry;
import org.openqa.selenium.logging.LogType;
import org.openqa.selenium.logging.LoggingPreferences;
import org.openqa.selenium.remote.http.ClientConfig;
import org.openqa.selenium.support.ui.Select;
import org.openqa.selenium.support.ui.WebDriverWait;

/** Headless Chromium without a network, on a screen as large as a laptop's. All tests use one in turns. */
final class Browser {
    private static final Path CHROMIUM = Path.of("/usr/bin/chromium");
    private static final Path DRIVER = Path.of("/usr/bin/chromedriver");
    /** Limits a hang; no test is expected to come near it. */
    private static final Duration LIMIT = Duration.ofMinutes(10);

    private static @Nullable Browser shared;

    private final ChromeDriver driver;

    private Browser(ChromeDriver driver) {
        this.driver = driver;
    }

    /** Returns the browser, which ends with this JVM; skips the test where Chromium is not installed. */
    static synchronized Browser shared() {
        if (shared == null) {
            Browser started = start();
            Runtime.getRuntime().addShutdownHook(new Thread(started.driver::quit));
            shared = started;
        }
        return shared;
    }

    private static Browser start() {
        assumeTrue(
                Files.isExecutable(CHROMIUM) && Files.isExecutable(DRIVER),
                "the test needs Chromium: apt-get install chromium chromium-driver");
        ChromeOptions options = new ChromeOptions();
        options.setBinary(CHROMIUM.toFile());
        options.addArguments(
                "--headless=new",
                "--no-sandbox",
                "--disable-dev-shm-usage",
                "--disable-gpu",
                "--window-size=1366,768",
                "--force-device-scale-factor=1",
                "--host-resolver-rules=MAP * ~NOTFOUND");
        LoggingPreferences logs = new LoggingPreferences();
        logs.enable(LogType.BROWSER, Level.ALL);
        options.setCapability("goog:loggingPrefs", logs);
        ChromeDriverService service = new ChromeDriverService.Builder()
                .usingDriverExecutable(DRIVER.toFile())
                .withSilent(true)
                .withTimeout(LIMIT)
                .build();
        ChromeDriver driver =
                new ChromeDriver(service, options, ClientConfig.defaultConfig().readTimeout(LIMIT));
        driver.manage().timeouts().scriptTimeout(LIMIT).pageLoadTimeout(LIMIT);
        return new Browser(driver);
    }

    /** Opens a file and waits until the page is ready. */
    void open(Path page) {
        driver.get(page.toUri().toString());
        assertThat(script("return document.documentElement.dataset.ready"))
                .as("the page's script has run to its end; the console has %s", console())
                .isEqualTo("true");
    }

    /** Returns the console's messages since the last look, except those for information only. */
    List<String> console() {
        return driver.manage().logs().get(LogType.BROWSER).getAll().stream()
                .filter(entry -> entry.getLevel().intValue() >= Level.WARNING.intValue())
                .map(LogEntry::toString)
                .toList();
    }

    WebElement find(String selector) {
        return driver.findElement(By.cssSelector(selector));
    }

    List<WebElement> all(String selector) {
        return driver.findElements(By.cssSelector(selector));
    }

    String text(String selector) {
        return find(selector).getText();
    }

    void click(String selector) {
        find(selector).click();
    }

    void hover(WebElement element, int dx, int dy) {
        script("arguments[0].scrollIntoView({block: 'center'})", element);
        new Actions(driver).moveToElement(element, dx, dy).perform();
    }

    void choose(String selector, String text) {
        new Select(find(selector)).selectByVisibleText(text);
    }

    /** Sets a slider as a user does. */
    void slide(String selector, int value) {
        script(
                "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', {bubbles: true}))",
                find(selector),
                value);
    }

    Object script(String text, Object... arguments) {
        Object result = ((JavascriptExecutor) driver).executeScript(text, arguments);
        return result == null ? "" : result;
    }

    /** Waits until a script returns true. */
    void await(String condition) {
        new WebDriverWait(driver, LIMIT).until(_ -> Boolean.TRUE.equals(script("return " + condition)));
    }

    /** Stops the page's clock at 0; frames are drawn by {@link #frame} alone. */
    void stopClock() {
        script("performance.now = () => 0; window.requestAnimationFrame = frame => { window.nextFrame = frame; }");
    }

    /** Draws the frame that the page has asked for, at a time in milliseconds. */
    void frame(int time) {
        script("const frame = window.nextFrame; window.nextFrame = undefined; frame(arguments[0])", time);
    }

    /**
     * Checks on large and small screens, in light and dark colours, that nothing is wider than the page and that curves
     * differ. Tables may scroll inside their boxes on the smallest screen. Pictures are left in target/screenshots.
     */
    void assertFits(String name) throws IOException {
        try {
            for (String colours : List.of("light", "dark")) {
                driver.executeCdpCommand(
                        "Emulation.setEmulatedMedia",
                        Map.of("features", List.of(Map.of("name", "prefers-color-scheme", "value", colours))));
                for (Dimension size :
                        List.of(new Dimension(1440, 900), new Dimension(800, 600), new Dimension(500, 800))) {
                    driver.executeCdpCommand(
                            "Emulation.setDeviceMetricsOverride",
                            Map.of(
                                    "width",
                                    size.getWidth(),
                                    "height",
                                    size.getHeight(),
                                    "deviceScaleFactor",
                                    1,
                                    "mobile",
                                    false));
                    screenshot(Path.of("target/screenshots", name + "-" + colours + "-" + size.getWidth() + ".png"));
                    String where = colours + " at " + size;
                    assertThat(script("return document.documentElement.dataset.theme"))
                            .isEqualTo(colours);
                    assertThat(script("return [document.documentElement, ...document.querySelectorAll('.across')]"
                                    + ".filter(box => box.scrollWidth > box.clientWidth"
                                    + " && !(innerWidth < 800 && box.className === 'across'))"
                                    + ".map(box => box.outerHTML)"))
                            .as("wider than its place, %s", where)
                            .isEqualTo(List.of());
                    assertThat((List<?>) script("return [...document.querySelectorAll('#curve-legend .swatch')]"
                                    + ".map(swatch => getComputedStyle(swatch).background)"))
                            .as("swatches, %s", where)
                            .hasSizeGreaterThan(8)
                            .doesNotHaveDuplicates();
                }
            }
        } finally {
            driver.executeCdpCommand("Emulation.setEmulatedMedia", Map.of("features", List.of()));
            driver.executeCdpCommand("Emulation.clearDeviceMetricsOverride", Map.of());
        }
    }

    /** Keeps a picture of what is on the screen, for people. */
    void screenshot(Path file) throws IOException {
        File shot = driver.getScreenshotAs(OutputType.FILE);
        Files.createDirectories(file.toAbsolutePath().getParent());
        Files.write(file, Files.readAllBytes(shot.toPath()));
    }
}
