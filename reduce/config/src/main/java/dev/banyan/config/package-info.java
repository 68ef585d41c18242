/** Settings: how they are declared, where their values come from, and what is wrong with them. */
@NullMarked
package dev.banyan.config;

import org.jspecify.annotations.NullMarked;
