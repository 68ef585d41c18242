package dev.banyan.export.mscclpp;

import dev.banyan.config.internal.json.JsonPieces;
import dev.banyan.export.mscclpp.MscclppPlan.Block;
import dev.banyan.export.mscclpp.MscclppPlan.Gpu;
import dev.banyan.export.mscclpp.MscclppPlan.Loop;
import dev.banyan.export.mscclpp.MscclppPlan.Operation;
import dev.banyan.export.mscclpp.MscclppPlan.Reference;
import dev.banyan.schedule.type.Collective;
import jakarta.json.stream.JsonGenerator;
import java.io.StringWriter;
import java.util.List;
import java.util.Set;

/** Writes plans as the JSON that MSCCL++'s executor loads. */
public final class PlanWriter {
    private static final String MEMORY = "memory";
    private static final int THREADS = 512;
    private static final Set<String> LOCAL = Set.of("nop", "copy", "re");

    private final StringWriter text = new StringWriter();
    private final JsonGenerator json = JsonPieces.generator(text);

    private PlanWriter() {}

    /** Returns the plan as JSON. */
    public static String write(MscclppPlan plan) {
        PlanWriter writer = new PlanWriter();
        writer.plan(plan);
        writer.json.close();
        return writer.text + "\n";
    }

    /** Begins a line. */
    private void line(String indent) {
        json.flush();
        text.append('\n').append(indent);
    }

    /** Returns the name of a collective in the runtime. */
    public static String label(Collective collective) {
        return MscclppPlan.label(collective);
    }

    private void plan(MscclppPlan plan) {
        json.writeStartObject();
        json.write("name", plan.name());
        json.write("collective", MscclppPlan.label(plan.collective()));
        json.write("protocol", "Simple");
        json.write("inplace", plan.inPlace());
        json.write("reuse_resources", true);
        json.write("num_threads_per_block", THREADS);
        json.write("buffer_alignment", MscclppPlan.ALIGNMENT);
        json.write("min_message_size", plan.minBytes());
        json.write("max_message_size", plan.maxBytes());
        json.writeStartArray("gpus");
        for (int rank = 0; rank < plan.gpus().size(); rank++) {
            gpu(rank, plan.gpus().get(rank));
        }
        json.writeEnd();
        json.writeEnd();
    }

    private void gpu(int rank, Gpu gpu) {
        line("");
        json.writeStartObject();
        json.write("id", rank);
        json.write("input_chunks", gpu.inputChunks());
        json.write("output_chunks", gpu.outputChunks());
        json.write("scratch_chunks", gpu.scratchChunks());
        json.writeStartArray("semaphores");
        json.writeEnd();
        json.writeStartArray("channels");
        json.writeStartObject();
        json.write("channel_type", MEMORY);
        numbers("connected_to", gpu.channels());
        json.writeEnd();
        json.writeEnd();
        json.writeStartArray("remote_buffers");
        for (MscclppPlan.Remote remote : gpu.remotes()) {
            json.writeStartObject();
            json.write("rank", remote.rank());
            json.write("type", remote.type());
            json.writeStartArray("access_channel_types");
            json.write(MEMORY);
            json.writeEnd();
            json.writeEnd();
        }
        json.writeEnd();
        json.writeStartArray("threadblocks");
        for (int id = 0; id < gpu.blocks().size(); id++) {
            block(id, gpu.blocks().get(id));
        }
        json.writeEnd();
        json.writeEnd();
    }

    private void block(int id, Block block) {
        line(" ");
        json.writeStartObject();
        json.write("id", id);
        group("channels", "channel_type", "channel_ids", block.channels());
        group("remote_buffer_refs", "access_channel_type", "remote_buffer_ids", block.remotes());
        operations(block.operations());
        json.writeEnd();
    }

    private void group(String key, String type, String ids, List<Integer> numbers) {
        json.writeStartArray(key);
        if (!numbers.isEmpty()) {
            json.writeStartObject();
            json.write(type, MEMORY);
            numbers(ids, numbers);
            json.writeEnd();
        }
        json.writeEnd();
    }

    private void numbers(String key, List<Integer> numbers) {
        json.writeStartArray(key);
        for (int number : numbers) {
            json.write(number);
        }
        json.writeEnd();
    }

    private void operations(List<Operation> operations) {
        json.writeStartArray("ops");
        for (Operation operation : operations) {
            json.writeStartObject();
            json.write("name", operation.name());
            Loop loop = operation.loop();
            if (loop != null) {
                json.writeStartObject("iter_context");
                json.write("unit_size", loop.unitBytes());
                json.write("num_chunks", loop.chunks());
                json.writeEnd();
                operations(loop.operations());
            } else if (!LOCAL.contains(operation.name())) {
                json.write("channel_type", MEMORY);
            }
            if (!operation.channels().isEmpty()) {
                numbers("channel_ids", operation.channels());
            }
            references("src_buff", operation.sources());
            references("dst_buff", operation.targets());
            json.writeEnd();
        }
        json.writeEnd();
    }

    private void references(String key, List<Reference> references) {
        if (references.isEmpty()) {
            return;
        }
        json.writeStartArray(key);
        for (Reference reference : references) {
            json.writeStartObject();
            if (reference.isOwn()) {
                json.write("type", reference.type());
            } else {
                json.write("buffer_id", reference.remote());
            }
            json.write("index", reference.index());
            json.write("size", reference.size());
            json.writeEnd();
        }
        json.writeEnd();
    }
}
