"""Small faults of the generated pages that a screen reader would meet, put right."""


def mend(app, pagename, templatename, context, doctree):
    """The list of works calls itself a list, but what stands in it are no items of a list."""
    if "body" in context:
        context["body"] = context["body"].replace(
            '<div role="list" class="citation-list">', '<div class="citation-list">'
        )


def setup(app):
    app.connect("html-page-context", mend)
    return {"parallel_read_safe": True}
