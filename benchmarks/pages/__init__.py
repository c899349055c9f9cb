"""The browser pages: how soon they can be used, and what Lighthouse says of them."""
