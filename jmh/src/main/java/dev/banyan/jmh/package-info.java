/** Benchmarks; each class says the command that runs it. */
package dev.banyan.jmh;
