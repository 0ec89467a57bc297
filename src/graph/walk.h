/* Walking the subgraphs of one node or one graph. Internal to graph/, for functions of graph.h. */
#ifndef LN_GRAPH_WALK_H
#define LN_GRAPH_WALK_H

#include "graph/graph.h"

/* Graph and all graphs below it, outer ones first. */
ln_status ln_graph_each_below(ln_graph *graph, ln_graph_visit visit, void *argument);
/* All graphs in the attributes of a node, and below them. */
ln_status ln_node_each_graph(const ln_node *node, ln_graph_visit visit, void *argument);

#endif
