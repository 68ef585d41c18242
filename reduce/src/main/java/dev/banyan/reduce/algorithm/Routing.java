package dev.banyan.reduce.algorithm;

import java.util.List;

/** All that the lowering needs to know of an algorithm: which ways the data take. */
interface Routing {
    /** Routes of data whose result every rank wants; each route may choose its root. */
    List<Route> anyRoot();

    /** Routes of data whose result is wanted by, or comes from, one rank: the root of each route. */
    List<Route> rootedAt(int root);
}
