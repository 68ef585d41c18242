package dev.banyan.reduce;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** Records a collective for JDK Flight Recorder; its duration is from its start to its end. */
@Name("dev.banyan.Collective")
@Label("Collective")
@Description("A collective that a communicator carried out")
@Category("Banyan")
@StackTrace(false)
final class CollectiveEvent extends Event {
    @Label("Collective")
    String collective = "";

    @Label("Algorithm")
    @Description("ALGORITHM[/TREES][@CHUNK], as it was chosen")
    String algorithm = "";

    @Label("Bytes")
    @Description("The call's number of elements times the length of one")
    @DataAmount
    long bytes;

    @Label("Ranks")
    int ranks;

    @Label("Type")
    String type = "";

    @Label("Operation")
    @Description("How elements are combined; means nothing where they are not")
    String operation = "";

    @Label("In Place")
    boolean inPlace;

    @Label("Succeeded")
    boolean succeeded;
}
