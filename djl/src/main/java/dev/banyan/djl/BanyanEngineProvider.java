package dev.banyan.djl;

import ai.djl.engine.Engine;
import ai.djl.engine.EngineProvider;
import ai.djl.pytorch.engine.PtEngineProvider;
import dev.banyan.djl.internal.data.DjlInternals;
import dev.banyan.djl.internal.engine.BanyanEngine;
import dev.banyan.djl.internal.processes.Launch;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Provides DJL's PyTorch engine with Banyan's parameter server. It is a service, which DJL finds by itself. DJL uses
 * the first provider of a name. If its own provider comes first on the class path, this one replaces it by reflection;
 * if that fails, it logs a warning, and training goes on without Banyan.
 *
 * <p>Safe for use from any thread.
 */
public final class BanyanEngineProvider implements EngineProvider {
    private static final Logger LOG = LoggerFactory.getLogger(BanyanEngineProvider.class);
    private static @Nullable Engine engine;

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
        return engine(real);
    }

    private static synchronized Engine engine(EngineProvider real) {
        Engine opened = engine;
        if (opened == null) {
            opened = new BanyanEngine(real.getEngine(), Launch.PROCESSES);
            engine = opened;
        }
        return opened;
    }
}
