"""The numbers by which `play` selects a policy; a separate module, so kernels load one by one."""

PRICE, GREEDY, PERIODIC, MULTI_QUEUE, DIFFERENCE_WAIT, GAP_VALUE, DELAY_GREEDY, GROUP_PRICE = range(
    8
)
