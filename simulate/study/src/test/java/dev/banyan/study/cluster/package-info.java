@NullMarked
package dev.banyan.study.cluster;

import org.jspecify.annotations.NullMarked;
