"""Speed and size of Headwork, beside what it is compared with."""
