package dev.banyan.page.study;

import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.network.Network;

/** Writes the certificate of an allreduce's bound as a sentence. */
@FunctionalInterface
public interface CertificateWords {
    /**
     * Returns the sentence.
     *
     * @param network on which the bound holds
     */
    String of(Bound bound, Network network);
}
