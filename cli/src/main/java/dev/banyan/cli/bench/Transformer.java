package dev.banyan.cli.bench;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;

/**
 * Models of attention layers, and the parameters that follow from their published shapes, in the order of their layers.
 * Parameters are those that a trainer on one device has a gradient for: embeddings that serve as output weights too
 * count once. Biases and norms are parameters of their own, as in the public implementations.
 */
enum Transformer {
    /**
     * BERT-large, uncased (Devlin et al., 2019, doi:10.18653/v1/N19-1423, table of section 3: L=24, H=1024; vocabulary
     * of 30522 and 512 positions by its configuration), with the heads of pre-training.
     */
    BERT_LARGE(24, 1024) {
        @Override
        List<Long> parameters() {
            Shapes all = new Shapes();
            all.add(30_522 * width).add(512 * width).add(2 * width).norm(width);
            for (int layer = 0; layer < layers; layer++) {
                for (int matrix = 0; matrix < 4; matrix++) {
                    all.linear(width, width);
                }
                all.norm(width)
                        .linear(width, 4 * width)
                        .linear(4 * width, width)
                        .norm(width);
            }
            // Pooler, the head of masked words, whose output weights are the embedding, and of the next sentence.
            return all.linear(width, width)
                    .add(30_522)
                    .linear(width, width)
                    .norm(width)
                    .linear(width, 2)
                    .list();
        }
    },
    /**
     * GPT-2 XL (Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, table 2: 48 layers of
     * width 1600; vocabulary of 50257, 1024 positions).
     */
    GPT_2_XL(48, 1600) {
        @Override
        List<Long> parameters() {
            Shapes all = new Shapes();
            all.add(50_257 * width).add(1_024 * width);
            for (int layer = 0; layer < layers; layer++) {
                all.norm(width).linear(width, 3 * width).linear(width, width);
                all.norm(width).linear(width, 4 * width).linear(4 * width, width);
            }
            return all.norm(width).list();
        }
    },
    /**
     * Llama 3 8B ("The Llama 3 Herd of Models", 2024, arXiv:2407.21783, table 3: 32 layers of width 4096, 14336 in the
     * feed-forward part, 8 key-value heads of 32; vocabulary of 128256, whose output weights are apart by its
     * configuration).
     */
    LLAMA_3_8B(32, 4096) {
        @Override
        List<Long> parameters() {
            Shapes all = new Shapes();
            all.add(128_256 * width);
            for (int layer = 0; layer < layers; layer++) {
                all.groupedAttention(width, width / 4);
                for (int matrix = 0; matrix < 3; matrix++) {
                    all.add(width * 14_336);
                }
                all.add(width).add(width);
            }
            return all.add(width).add(128_256 * width).list();
        }
    },
    /**
     * ViT-L/16 at 224 x 224 and 1000 classes (Dosovitskiy et al., 2021, arXiv:2010.11929, table 1: 24 layers of width
     * 1024; 16 x 16 patches of 3 colours, 196 of them and the class token).
     */
    VIT_L(24, 1024) {
        @Override
        List<Long> parameters() {
            Shapes all = new Shapes();
            all.add(width).linear(16 * 16 * 3, width).add(197 * width);
            for (int layer = 0; layer < layers; layer++) {
                all.norm(width).linear(width, 3 * width).linear(width, width);
                all.norm(width).linear(width, 4 * width).linear(4 * width, width);
            }
            return all.norm(width).linear(width, 1000).list();
        }
    },
    /**
     * One layer of Mixtral 8x7B, a mixture of experts ("Mixtral of Experts", 2024, arXiv:2401.04088, table 1: width
     * 4096, 14336 in each of 8 experts, 8 key-value heads of 32), all experts on every device.
     */
    MIXTRAL_LAYER(1, 4096) {
        @Override
        List<Long> parameters() {
            Shapes all = new Shapes();
            all.groupedAttention(width, width / 4).add(8 * width);
            for (int expert = 0; expert < 8; expert++) {
                for (int matrix = 0; matrix < 3; matrix++) {
                    all.add(width * 14_336);
                }
            }
            return all.add(width).add(width).list();
        }
    };

    final int layers;
    final long width;

    Transformer(int layers, long width) {
        this.layers = layers;
        this.width = width;
    }

    /** Elements of each parameter, from the input to the output. */
    abstract List<Long> parameters();

    /** The name as the command takes it, e.g. {@code bert-large}. */
    String label() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** Collects parameters of layers. */
    private static final class Shapes {
        private final List<Long> elements = new ArrayList<>();

        Shapes add(long parameter) {
            elements.add(parameter);
            return this;
        }

        /** Weights and biases. */
        Shapes linear(long inputs, long outputs) {
            return add(inputs * outputs).add(outputs);
        }

        /** Scales and shifts. */
        Shapes norm(long width) {
            return add(width).add(width);
        }

        /** Queries, keys, values and outputs without biases, of fewer keys and values than queries. */
        Shapes groupedAttention(long width, long keyWidth) {
            return add(width * width)
                    .add(width * keyWidth)
                    .add(width * keyWidth)
                    .add(width * width);
        }

        List<Long> list() {
            return Collections.unmodifiableList(elements);
        }
    }
}
