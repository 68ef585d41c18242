package dev.banyan.cuda.internal.graph;

import dev.banyan.cuda.internal.driver.CudaDevice;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A word in the host's memory that becomes 1 when some nodes of a graph are done, the last pieces of some templates.
 *
 * <p>A collective has a mark for each step where steps are long: a timeout then names the step that is not done. Where
 * they are short, the copies that set marks would be half of all nodes, and each device has one mark. It waits for
 * every node of the device that no other node there waits for. So either way all marks are set only if every node of
 * the graph is done, which is what success needs; the step that a timeout names is then the last one of its device.
 *
 * @param device the device that sets it
 * @param nodes what it waits for
 * @param step what is done then, for messages
 */
record Mark(CudaDevice device, List<Place> nodes, String step) {
    /** Steps of fewer bytes take about as long as the copy that would mark them. */
    private static final long LEAST_BYTES = 256 << 10;

    /** A template of a route, both by number. */
    record Place(int route, int template) {}

    static List<Mark> of(List<Route> routes, List<CudaDevice> devices, int elementBytes) {
        long most = routes.stream()
                .flatMap(route -> route.pieces().stream())
                .mapToLong(piece -> piece.elements() * elementBytes)
                .max()
                .orElse(0);
        List<Mark> ofSteps = ofSteps(routes, devices);
        List<Mark> ofDevices = ofDevices(routes, devices);
        return most < LEAST_BYTES && ofDevices.size() < ofSteps.size() ? ofDevices : ofSteps;
    }

    private static List<Mark> ofSteps(List<Route> routes, List<CudaDevice> devices) {
        List<Mark> marks = new ArrayList<>();
        for (int r = 0; r < routes.size(); r++) {
            Route route = routes.get(r);
            for (int t = 0; t < route.templates().size(); t++) {
                NodeTemplate template = route.templates().get(t);
                if (template.last()) {
                    marks.add(new Mark(
                            devices.get(template.rank()),
                            List.of(new Place(r, t)),
                            route.steps().get(template.step())));
                }
            }
        }
        return marks;
    }

    private static List<Mark> ofDevices(List<Route> routes, List<CudaDevice> devices) {
        Map<CudaDevice, List<Place>> ends = new LinkedHashMap<>();
        Map<CudaDevice, String> lastSteps = new LinkedHashMap<>();
        for (int r = 0; r < routes.size(); r++) {
            List<NodeTemplate> templates = routes.get(r).templates();
            for (int t = 0; t < templates.size(); t++) {
                CudaDevice device = devices.get(templates.get(t).rank());
                int number = t;
                boolean awaited = templates.stream()
                        .anyMatch(other -> other.after().contains(number)
                                && devices.get(other.rank()).equals(device));
                if (!awaited) {
                    ends.computeIfAbsent(device, _ -> new ArrayList<>()).add(new Place(r, t));
                }
                lastSteps.put(device, routes.get(r).steps().get(templates.get(t).step()));
            }
        }
        List<Mark> marks = new ArrayList<>();
        ends.forEach(
                (device, places) -> marks.add(new Mark(device, places, "the steps up to " + lastSteps.get(device))));
        return marks;
    }
}
