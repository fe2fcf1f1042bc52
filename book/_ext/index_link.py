"""A link to the index at the end of the contents, which by themselves list only pages that have a source."""

ITEM = '<li class="toctree-l1{current}"><a class="{current} reference internal" href="{address}">Index</a></li>'


def add_link(app, pagename, templatename, context, doctree):
    contents = context.get("generate_toctree_html")
    if contents is None:
        return

    def with_index(kind, **options):
        html = contents(kind, **options)
        if kind != "sidebar":
            return html
        current = " current active" if pagename == "genindex" else ""
        before, end, after = str(html).rpartition("</ul>")
        return before + ITEM.format(current=current, address=context["pathto"]("genindex")) + end + after

    context["generate_toctree_html"] = with_index


def setup(app):
    app.connect("html-page-context", add_link, priority=900)  # after the theme has put its contents there
    return {"parallel_read_safe": True}
