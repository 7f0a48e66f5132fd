"""The models that fit a table, from the class prior to the joint table, on rows held out."""
