"""What `play` calls the policies with steps. Apart, so that one policy's kernels load alone."""

PRICE, GREEDY, PERIODIC, MULTI_QUEUE, DIFFERENCE_WAIT, GAP_VALUE, DELAY_GREEDY, GROUP_PRICE = range(
    8
)
