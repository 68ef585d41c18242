package dev.banyan.study.compare;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.text.LinkNames;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Ways to carry an allreduce on sets of the chosen devices, in the order of their JSON.
 *
 * @param machine the machine's name
 * @param direct the kind of link that joins GPUs directly: NVLink or xGMI
 * @param tried number of all sets of these sizes; those that such links do not join are left out of all figures
 * @param devices the devices whose sets were tried, by their numbers in the whole machine
 * @param sizes figures by size
 * @param total figures over all
 * @param subsets the sets
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record Subsets(
        @JsonIgnore String machine,
        @JsonIgnore String direct,
        @JsonIgnore int tried,
        List<Integer> devices,
        List<SubsetSummary> sizes,
        SubsetSummary total,
        @JsonProperty("rows") List<SubsetRow> subsets) {
    static Subsets of(ChosenMachine chosen, int tried, List<SubsetRow> rows) {
        List<SubsetSummary> sizes = rows.stream()
                .collect(Collectors.groupingBy(SubsetRow::size, TreeMap::new, Collectors.toList()))
                .values()
                .stream()
                .map(some -> SubsetSummary.of(some.getFirst().size(), some))
                .toList();
        Machine machine = chosen.machine();
        return new Subsets(
                machine.name(),
                LinkNames.direct(machine),
                tried,
                chosen.group(),
                sizes,
                SubsetSummary.of(null, rows),
                rows);
    }
}
