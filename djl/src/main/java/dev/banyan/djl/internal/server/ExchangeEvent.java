package dev.banyan.djl.internal.server;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** Records an average of gradients over the processes, from its start until the means are known. */
@Name("dev.banyan.GradientExchange")
@Label("Gradient Exchange")
@Description("An average of neighbouring gradients over all processes")
@Category("Banyan")
@StackTrace(false)
final class ExchangeEvent extends Event {
    @Label("Bytes")
    @DataAmount
    long bytes;

    @Label("Parameters")
    @Description("How many parameters' gradients went together")
    int parameters;
}
