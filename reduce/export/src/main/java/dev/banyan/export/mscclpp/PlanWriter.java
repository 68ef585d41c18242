package dev.banyan.export.mscclpp;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import dev.banyan.export.mscclpp.MscclppPlan.Block;
import dev.banyan.export.mscclpp.MscclppPlan.Gpu;
import dev.banyan.export.mscclpp.MscclppPlan.Loop;
import dev.banyan.export.mscclpp.MscclppPlan.Operation;
import dev.banyan.export.mscclpp.MscclppPlan.Reference;
import dev.banyan.schedule.type.Collective;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Set;

/** Writes plans as the JSON that MSCCL++'s executor loads. */
public final class PlanWriter {
    private static final String MEMORY = "memory";
    private static final int THREADS = 512;
    private static final Set<String> LOCAL = Set.of("nop", "copy", "re");

    private final JsonGenerator json;

    private PlanWriter(JsonGenerator json) {
        this.json = json;
    }

    /** Returns the plan as JSON. */
    public static String write(MscclppPlan plan) {
        StringWriter text = new StringWriter();
        try (JsonGenerator json = new JsonFactory().createGenerator(text)) {
            new PlanWriter(json).plan(plan);
        } catch (IOException e) {
            throw new UncheckedIOException("writing JSON to memory failed", e);
        }
        return text + "\n";
    }

    /** Returns the name of a collective in the runtime. */
    public static String label(Collective collective) {
        return MscclppPlan.label(collective);
    }

    private void plan(MscclppPlan plan) throws IOException {
        json.writeStartObject();
        json.writeStringField("name", plan.name());
        json.writeStringField("collective", MscclppPlan.label(plan.collective()));
        json.writeStringField("protocol", "Simple");
        json.writeBooleanField("inplace", plan.inPlace());
        json.writeBooleanField("reuse_resources", true);
        json.writeNumberField("num_threads_per_block", THREADS);
        json.writeNumberField("buffer_alignment", MscclppPlan.ALIGNMENT);
        json.writeNumberField("min_message_size", plan.minBytes());
        json.writeNumberField("max_message_size", plan.maxBytes());
        json.writeArrayFieldStart("gpus");
        for (int rank = 0; rank < plan.gpus().size(); rank++) {
            gpu(rank, plan.gpus().get(rank));
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private void gpu(int rank, Gpu gpu) throws IOException {
        json.writeRaw('\n');
        json.writeStartObject();
        json.writeNumberField("id", rank);
        json.writeNumberField("input_chunks", gpu.inputChunks());
        json.writeNumberField("output_chunks", gpu.outputChunks());
        json.writeNumberField("scratch_chunks", gpu.scratchChunks());
        json.writeArrayFieldStart("semaphores");
        json.writeEndArray();
        json.writeArrayFieldStart("channels");
        json.writeStartObject();
        json.writeStringField("channel_type", MEMORY);
        numbers("connected_to", gpu.channels());
        json.writeEndObject();
        json.writeEndArray();
        json.writeArrayFieldStart("remote_buffers");
        for (MscclppPlan.Remote remote : gpu.remotes()) {
            json.writeStartObject();
            json.writeNumberField("rank", remote.rank());
            json.writeStringField("type", remote.type());
            json.writeArrayFieldStart("access_channel_types");
            json.writeString(MEMORY);
            json.writeEndArray();
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeArrayFieldStart("threadblocks");
        for (int id = 0; id < gpu.blocks().size(); id++) {
            block(id, gpu.blocks().get(id));
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private void block(int id, Block block) throws IOException {
        json.writeRaw("\n ");
        json.writeStartObject();
        json.writeNumberField("id", id);
        group("channels", "channel_type", "channel_ids", block.channels());
        group("remote_buffer_refs", "access_channel_type", "remote_buffer_ids", block.remotes());
        operations(block.operations());
        json.writeEndObject();
    }

    private void group(String key, String type, String ids, List<Integer> numbers) throws IOException {
        json.writeArrayFieldStart(key);
        if (!numbers.isEmpty()) {
            json.writeStartObject();
            json.writeStringField(type, MEMORY);
            numbers(ids, numbers);
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private void numbers(String key, List<Integer> numbers) throws IOException {
        json.writeArrayFieldStart(key);
        for (int number : numbers) {
            json.writeNumber(number);
        }
        json.writeEndArray();
    }

    private void operations(List<Operation> operations) throws IOException {
        json.writeArrayFieldStart("ops");
        for (Operation operation : operations) {
            json.writeStartObject();
            json.writeStringField("name", operation.name());
            Loop loop = operation.loop();
            if (loop != null) {
                json.writeObjectFieldStart("iter_context");
                json.writeNumberField("unit_size", loop.unitBytes());
                json.writeNumberField("num_chunks", loop.chunks());
                json.writeEndObject();
                operations(loop.operations());
            } else if (!LOCAL.contains(operation.name())) {
                json.writeStringField("channel_type", MEMORY);
            }
            if (!operation.channels().isEmpty()) {
                numbers("channel_ids", operation.channels());
            }
            references("src_buff", operation.sources());
            references("dst_buff", operation.targets());
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private void references(String key, List<Reference> references) throws IOException {
        if (references.isEmpty()) {
            return;
        }
        json.writeArrayFieldStart(key);
        for (Reference reference : references) {
            json.writeStartObject();
            if (reference.isOwn()) {
                json.writeStringField("type", reference.type());
            } else {
                json.writeNumberField("buffer_id", reference.remote());
            }
            json.writeNumberField("index", reference.index());
            json.writeNumberField("size", reference.size());
            json.writeEndObject();
        }
        json.writeEndArray();
    }
}
