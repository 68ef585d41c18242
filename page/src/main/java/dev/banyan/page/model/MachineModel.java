package dev.banyan.page.model;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The nodes and links of a machine with their places in a drawing, whose coordinates are in pixels from the upper left.
 *
 * @param name what the machine is called
 * @param devices number of devices; they are the first nodes
 * @param width of the drawing
 * @param height of the drawing
 * @param nodes devices, then hubs
 * @param links one for each pair of nodes that is linked; a directed link is {@code 2 * link} from a to b, and {@code
 *     2 * link + 1} from b to a
 * @param assumed what was assumed of links that the description leaves open, one sentence without its stop; null if
 *     nothing was
 * @param remarks what links carry where their bandwidths do not show it, one sentence without its stop each
 * @param paths directed links from one device to another in turn, where there is no direct link: {@code [from, to,
 *     link, ...]}
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record MachineModel(
        String name,
        int devices,
        int width,
        int height,
        List<NodeModel> nodes,
        List<LinkModel> links,
        @Nullable String assumed,
        List<String> remarks,
        List<List<Integer>> paths) {
    /**
     * A node.
     *
     * @param name what the description calls it
     * @param kind gpu, nvswitch, pcie switch, host bridge, cpu socket, host memory, or unused, which is
     *     not drawn
     * @param x centre
     * @param y centre
     */
    public record NodeModel(String name, String kind, double x, double y) {}

    /**
     * All links between two nodes.
     *
     * @param a node index
     * @param b node index
     * @param kind nvlink, xgmi, pcie, socket, other, or cpu for links inside one, of the widest link
     * @param lanes of all links of that kind
     * @param gbsAToB GB/s from a to b
     * @param gbsBToA GB/s from b to a
     * @param line points of the line from a to b: x, y, x, y ...
     */
    public record LinkModel(int a, int b, String kind, int lanes, double gbsAToB, double gbsBToA, List<Double> line) {}
}
