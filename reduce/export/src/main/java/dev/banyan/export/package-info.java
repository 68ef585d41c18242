/** Rings, trees and schedules as files that other runtimes execute: NCCL, RCCL and MSCCL++. */
@NullMarked
package dev.banyan.export;

import org.jspecify.annotations.NullMarked;
