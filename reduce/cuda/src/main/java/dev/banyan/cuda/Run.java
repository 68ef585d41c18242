package dev.banyan.cuda;

import java.util.concurrent.CompletableFuture;
import jcuda.driver.CUevent;

/**
 * A launch of a graph.
 *
 * @param ended an event behind the graph
 * @param future completes when the run has ended
 */
record Run(CudaExecutable executable, Graph graph, CUevent ended, CompletableFuture<Void> future) {}
