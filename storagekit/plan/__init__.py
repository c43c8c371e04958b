"""What a capacity planner imports: layouts ranked by what they give. Filled by the SR-Array paper."""
