"""Charts of the papers are copied faster in tests."""

from quick_charts import copy_quickly

copy_quickly()
