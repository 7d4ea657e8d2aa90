"""Series of times of messages one way, and the clocks that they were read from."""
