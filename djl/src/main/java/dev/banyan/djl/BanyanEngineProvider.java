package dev.banyan.djl;

import ai.djl.engine.Engine;
import ai.djl.engine.EngineProvider;
import ai.djl.pytorch.engine.PtEngineProvider;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives DJL's PyTorch engine with Banyan's parameter server; a service, which DJL finds by itself. DJL takes the first
 * provider of a name. Where the real one comes first on the class path, this one takes its place, by reflection; where
 * that can't be done it says so, and DJL trains in its own way.
 *
 * <p>Safe for use from any thread.
 */
public final class BanyanEngineProvider implements EngineProvider {
    private static final Logger LOG = LoggerFactory.getLogger(BanyanEngineProvider.class);
    private static final AtomicReference<@Nullable Engine> ENGINE = new AtomicReference<>();

    private final EngineProvider real = new PtEngineProvider();

    /** Called by DJL while it looks for engines. */
    public BanyanEngineProvider() {
        if (Engine.hasEngine(getEngineName())) {
            try {
                DjlInternals.register(this);
            } catch (IllegalStateException e) {
                LOG.warn(
                        "training goes on without Banyan: {}, or put banyan-djl before pytorch-engine on the class"
                                + " path",
                        e.getMessage());
            }
        }
    }

    @Override
    public String getEngineName() {
        return real.getEngineName();
    }

    @Override
    public int getEngineRank() {
        return real.getEngineRank();
    }

    @Override
    public Engine getEngine() {
        Engine engine = ENGINE.get();
        return engine == null ? start() : engine;
    }

    private Engine start() {
        synchronized (ENGINE) {
            Engine engine = ENGINE.get();
            if (engine == null) {
                engine = new BanyanEngine(real.getEngine(), Banyan.processes());
                ENGINE.set(engine);
            }
            return engine;
        }
    }
}
