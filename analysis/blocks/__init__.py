"""What happens in a block, step by step, and what it weighs and costs."""
