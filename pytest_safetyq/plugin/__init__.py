"""The pytest plugin: options, fixtures, markers, the failure hooks and the reports.

Nothing here touches an instrument; it asks the bench. pytest loads ``entry``.
"""
