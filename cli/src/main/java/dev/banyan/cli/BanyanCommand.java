package dev.banyan.cli;

import dev.banyan.cli.bench.BenchCommand;
import dev.banyan.cli.bench.PredictCommand;
import dev.banyan.cli.bench.SelftestCommand;
import dev.banyan.cli.calibrate.CalibrateCommand;
import dev.banyan.cli.calibrate.ValidateCommand;
import dev.banyan.cli.compare.BoundCommand;
import dev.banyan.cli.compare.CompareCommand;
import dev.banyan.cli.diagnose.DiagnoseCommand;
import dev.banyan.cli.export.ExportCommand;
import dev.banyan.cli.gpuday.GpuDayCommand;
import dev.banyan.cli.input.Converters;
import dev.banyan.cli.output.CheckedOutput;
import dev.banyan.cli.output.OutputFile;
import dev.banyan.cli.output.PlotFile;
import dev.banyan.cli.output.Subcommand;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.cli.page.PageCommand;
import dev.banyan.cli.probe.ProbeCommand;
import dev.banyan.cli.scaling.ScalingCommand;
import dev.banyan.cli.study.StudyCommand;
import dev.banyan.cli.topo.TopoCommand;
import dev.banyan.cli.trace.TraceCommand;
import dev.banyan.cli.trees.TreesCommand;
import dev.banyan.cli.tune.TuneCommand;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.TreeGenerator;
import dev.banyan.study.text.Names;
import dev.banyan.topology.Machine;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.PicocliException;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.UnmatchedArgumentException;

/** The command itself: its subcommands, and how it reports errors. */
@Command(
        name = "banyan",
        description = "Reduce, broadcast and allreduce between the GPUs of one machine, fitted to its links.",
        mixinStandardHelpOptions = true,
        scope = ScopeType.INHERIT,
        versionProvider = BanyanCommand.Version.class,
        usageHelpAutoWidth = true,
        exitCodeListHeading = "%nExit status:%n",
        exitCodeList = {"0:done", "1:failed", "2:wrong usage"})
final class BanyanCommand extends Subcommand {
    /** A group of subcommands in the help text. */
    private record Group(String heading, List<Class<? extends Subcommand>> commands) {
        List<String> names() {
            return commands.stream().map(BanyanCommand::nameOf).toList();
        }
    }

    private static final List<Group> GROUPS = List.of(
            new Group(
                    "Machines",
                    List.of(
                            TopoCommand.class,
                            ProbeCommand.class,
                            TreesCommand.class,
                            BoundCommand.class,
                            CompareCommand.class,
                            PageCommand.class)),
            new Group(
                    "Predictions and NCCL",
                    List.of(
                            PredictCommand.class,
                            CalibrateCommand.class,
                            ValidateCommand.class,
                            DiagnoseCommand.class,
                            ExportCommand.class)),
            new Group(
                    "Measurements",
                    List.of(BenchCommand.class, TuneCommand.class, SelftestCommand.class, GpuDayCommand.class)),
            new Group("Traces", List.of(TraceCommand.class)),
            new Group("Studies", List.of(StudyCommand.class)),
            new Group("This command", List.of(SettingsCommand.class, HelpCommand.class)));

    @Option(names = "--debug", scope = ScopeType.INHERIT, description = "Show the stack trace of an error.")
    private boolean debug;

    /**
     * The command, writing to the given places.
     *
     * @param args what it will be executed with: if they name a subcommand it has this one alone, since the options of
     *     all take longer to set up than most subcommands run
     */
    static CommandLine commandLine(PrintWriter out, PrintWriter err, String... args) {
        BanyanCommand root = new BanyanCommand();
        CommandLine command = new CommandLine(root);
        needed(args).forEach(subcommand -> command.addSubcommand(subcommand));
        Map<String, List<String>> groups = new LinkedHashMap<>();
        GROUPS.forEach(group -> groups.put(group.heading(), group.names()));
        HelpText.set(command, Objects.requireNonNullElse(System.getenv("COLUMNS"), ""), groups);
        command.setOut(out)
                .setErr(err)
                .setExecutionStrategy(BanyanCommand::executed)
                .setParameterExceptionHandler(root::wrongUsage)
                .setExecutionExceptionHandler(root::failed);
        Converters converters = new Converters(command);
        converters.add(OutputFile.class, OutputFile::of);
        converters.add(PlotFile.class, PlotFile::of);
        converters.add(Machine.class, ScalingCommand::machine);
        converters.add(ProbeCommand.Output.class, ProbeCommand.Output::of);
        converters.add(TopoCommand.Form.class, TopoCommand.Form::of);
        converters.add(ExportCommand.PlanAlgorithm.class, ExportCommand.PlanAlgorithm::of);
        converters.add(
                TreeGenerator.class, "generator of trees", Names.of(TreeGenerator.values(), TreeGenerator::label));
        converters.add(AlgorithmChoice.class, TreesCommand::algorithm);
        BenchCommand.registerConverters(converters);
        return command;
    }

    private static List<Class<? extends Subcommand>> needed(String... args) {
        String first = args.length == 0 ? "" : args[0];
        if (args.length == 1 && (first.equals("--version") || first.equals("-V"))) {
            return List.of();
        }
        List<Class<? extends Subcommand>> all =
                GROUPS.stream().flatMap(group -> group.commands().stream()).toList();
        return all.stream()
                .filter(subcommand ->
                        subcommand != HelpCommand.class && nameOf(subcommand).equals(first))
                .findFirst()
                .<List<Class<? extends Subcommand>>>map(List::of)
                .orElse(all);
    }

    private static String nameOf(Class<? extends Subcommand> subcommand) {
        return subcommand.getAnnotation(Command.class).name();
    }

    /**
     * Runs one command.
     *
     * @param stdout where its answer goes
     * @return its exit status; that of a failure also where the answer could not be written
     */
    static int run(OutputStream stdout, PrintWriter err, String... args) {
        CheckedOutput checked = new CheckedOutput(stdout);
        PrintWriter out = new PrintWriter(checked, false, Charset.defaultCharset());
        CommandLine command = commandLine(out, err, args);
        int status = command.execute(args);
        out.flush();
        Optional<IOException> lost = checked.failure();
        lost.ifPresent(failure -> err.println("banyan: can't write to standard output ("
                + TerminalText.of(String.valueOf(failure.getMessage()))
                + "), so that the answer is incomplete; make room, or send it elsewhere"));
        return lost.isPresent() && status == 0 ? command.getCommandSpec().exitCodeOnExecutionException() : status;
    }

    /** Without a subcommand there is nothing to do but to say what there is. */
    @Override
    public void run() {
        List<String> names = List.copyOf(spec().subcommands().keySet());
        throw wrong(
                "which command? " + String.join(", ", names.subList(0, names.size() - 1)) + " or " + names.getLast());
    }

    /** Runs what was parsed, unless it would write over a file that it reads. */
    private static int executed(ParseResult parsed) {
        for (ParseResult each = parsed; each != null; each = each.subcommand()) {
            for (OptionSpec option : each.matchedOptions()) {
                Path written = written(option.getValue());
                if (written != null) {
                    checkNotRead(written, option, each);
                }
            }
        }
        return new CommandLine.RunLast().execute(parsed);
    }

    private static @Nullable Path written(@Nullable Object value) {
        return switch (value) {
            case OutputFile file -> file.path();
            case PlotFile file -> file.path();
            case ProbeCommand.Output output -> output.file().path();
            case null, default -> null;
        };
    }

    private static void checkNotRead(Path written, OptionSpec by, ParseResult parsed) {
        for (OptionSpec option : parsed.matchedOptions()) {
            for (String read : option.stringValues()) {
                if (!option.equals(by) && isSameFile(written, read)) {
                    throw new ParameterException(
                            parsed.commandSpec().commandLine(),
                            by.longestName() + " would write over " + written + ", which " + option.longestName()
                                    + " names; name another file");
                }
            }
        }
    }

    private static boolean isSameFile(Path written, String read) {
        try {
            return Files.exists(written) && Files.isSameFile(written, Path.of(read));
        } catch (IOException | InvalidPathException e) {
            // It is no file, or there is none.
            return false;
        }
    }

    private int wrongUsage(ParameterException error, String[] args) {
        CommandLine command = error.getCommandLine();
        PrintWriter err = command.getErr();
        Optional<String> operand = operand(error);
        boolean namesCommand = command.getParent() == null;
        Optional<String> refusal = refusal(error)
                .or(() -> operand.filter(word -> namesCommand)
                        .map(word -> HelpCommand.unknown(TerminalText.of(word), command)));
        if (refusal.isPresent()) {
            err.println("banyan: " + refusal.get());
            return command.getCommandSpec().exitCodeOnInvalidInput();
        }
        if (operand.isPresent()) {
            String word = TerminalText.of(operand.get());
            boolean machines = command.getCommandSpec().findOption("--machine") != null;
            err.println("banyan: '" + word + "' belongs to no option"
                    + (machines ? "; a machine is named by --machine " + word : ""));
        } else {
            err.println("banyan: " + unknownOptions(error).orElseGet(() -> sentence(error)));
        }
        err.println("See '" + command.getCommandSpec().qualifiedName() + " --help'.");
        return command.getCommandSpec().exitCodeOnInvalidInput();
    }

    /** Names the options that the command does not have, without the words behind them. */
    private static Optional<String> unknownOptions(ParameterException error) {
        if (!(error instanceof UnmatchedArgumentException unmatched) || !unmatched.isUnknownOption()) {
            return Optional.empty();
        }
        List<String> options = unmatched.getUnmatched().stream()
                .filter(word -> word.matches("--?[A-Za-z].*"))
                .map(TerminalText::of)
                .toList();
        List<String> known = unmatched.getSuggestions();
        return options.isEmpty()
                ? Optional.empty()
                : Optional.of((options.size() == 1 ? "unknown option '" : "unknown options '")
                        + String.join("', '", options) + "'"
                        + (known.isEmpty() ? "" : "; did you mean " + String.join(" or ", known) + "?"));
    }

    /** Returns the message about an option that the command does not have. */
    private static Optional<String> refusal(ParameterException error) {
        return error instanceof UnmatchedArgumentException unmatched
                        && error.getCommandLine().getCommandSpec().userObject() instanceof Subcommand subcommand
                ? unmatched.getUnmatched().stream()
                        .map(subcommand::refusal)
                        .flatMap(Optional::stream)
                        .findFirst()
                : Optional.empty();
    }

    /** The first word that belongs to no option, where no option is unknown. */
    private static Optional<String> operand(ParameterException error) {
        return error instanceof UnmatchedArgumentException unmatched && !unmatched.isUnknownOption()
                ? unmatched.getUnmatched().stream().findFirst()
                : Optional.empty();
    }

    private int failed(Exception error, CommandLine command, @Nullable ParseResult parsed) {
        PrintWriter err = command.getErr();
        // A wait for a future reports its failure in a wrapper.
        Exception told =
                error instanceof CompletionException && error.getCause() instanceof Exception cause ? cause : error;
        err.println("banyan: " + sentence(told));
        if (debug) {
            error.printStackTrace(err);
        }
        boolean missing = Stream.iterate((@Nullable Throwable) told, Objects::nonNull, Throwable::getCause)
                .anyMatch(NoSuchFileException.class::isInstance);
        return missing
                ? command.getCommandSpec().exitCodeOnInvalidInput()
                : command.getCommandSpec().exitCodeOnExecutionException();
    }

    /** One line. What Banyan's own code throws says what to do; of anything else the kind is worth knowing. */
    private static String sentence(Exception error) {
        boolean told = error instanceof IllegalArgumentException
                || error instanceof IllegalStateException
                || error instanceof UncheckedIOException
                || error instanceof PicocliException
                || error.getClass().getName().startsWith("dev.banyan.");
        String message = error.getMessage() == null
                ? ""
                : TerminalText.of(error.getMessage().strip().replaceAll("\\s+", " "));
        return told && !message.isEmpty()
                ? message
                : "internal error: " + error.getClass().getSimpleName() + " " + message
                        + "; please report it with what --debug shows";
    }

    /** The version that the jar was built as, and the JDK that runs it. */
    static final class Version implements CommandLine.IVersionProvider {
        @Override
        public String[] getVersion() {
            String built = BanyanCommand.class.getPackage().getImplementationVersion();
            return new String[] {
                "banyan " + (built == null ? "(not packaged)" : built),
                "Java " + Runtime.version() + " in " + System.getProperty("java.home")
            };
        }
    }
}
