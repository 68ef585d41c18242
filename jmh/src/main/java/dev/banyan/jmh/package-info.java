/** Benchmarks; the Javadoc of each class gives the command that runs it. */
package dev.banyan.jmh;
