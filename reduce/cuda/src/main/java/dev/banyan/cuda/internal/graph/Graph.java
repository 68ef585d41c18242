package dev.banyan.cuda.internal.graph;

import jcuda.driver.CUgraphExec;

/**
 * A graph that can be launched.
 *
 * @param nodes number of its nodes
 */
record Graph(CUgraphExec exec, int nodes) {}
