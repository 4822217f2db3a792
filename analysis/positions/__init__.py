"""What positions do: order lost and kept, the tables and turns of each way, and what heads make of them."""
