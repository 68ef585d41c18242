package dev.banyan.djl;

import ai.djl.engine.Engine;
import ai.djl.engine.EngineProvider;
import ai.djl.pytorch.engine.PtEngineProvider;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Provides DJL's PyTorch engine with Banyan's parameter server. It is a service, which DJL finds by itself. DJL uses the
 * first provider of a name. If its own provider comes first on the class path, this one replaces it by reflection; if
 * that fails, it logs a warning, and training goes on without Banyan.
 *
 * <p>Safe for use from any thread.
 */
public final class BanyanEngineProvider implements EngineProvider {
    private static final Logger LOG = LoggerFactory.getLogger(BanyanEngineProvider.class);
    private static final AtomicReference<@Nullable Engine> ENGINE = new AtomicReference<>();

    private final EngineProvider real = new PtEngineProvider();

    /** Creates a provider; DJL calls this while it looks for engines. */
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
                engine = new BanyanEngine(real.getEngine(), Launch.PROCESSES);
                ENGINE.set(engine);
            }
            return engine;
        }
    }
}
