"""A self-contained page read back."""
import base64
import html.parser
import re


class Page(html.parser.HTMLParser):
    """The page's answer and, by heading, tables (their columns, then rows with exact numbers), charts, pictures."""

    def __init__(self, text):
        super().__init__()
        self.source, self.title, self.heading = text, "", ""
        self.answer, self.tables, self.charts, self.pictures, self.tags = [], {}, {}, {}, []
        self.text, self.value, self.row, self.hidden = None, None, None, 0
        self.feed(text)

    def check_self_contained(self, case):
        """Nothing is loaded, nothing but its own script runs."""
        case.assertNotRegex(re.sub(r"base64,[^\"]*", "", self.source), r"https?:|//[a-z]")
        case.assertIn("default-src 'none'", self.source)
        for tag, attrs in self.tags:
            case.assertNotIn(tag, ("iframe", "object", "embed", "link", "base", "form"))
            case.assertRegex(attrs.get("src", "data:image/png;base64,"), r"^data:image/(svg\+xml|png);base64,")
            case.assertRegex(attrs.get("href", "#"), "^#")
        for chart in self.charts.values():
            case.assertNotRegex(chart.replace("http://www.w3.org/2000/svg", ""), "https?:|href|<script|<image")

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append((tag, attrs))
        if tag in ("h1", "h2", "th", "td") or (tag == "p" and not self.tables):
            self.text, self.value = "", attrs.get("data-value")
        if tag == "tr":
            self.row = []
        if tag == "summary":
            self.hidden += 1
        if tag == "img":
            picture = base64.b64decode(attrs["src"].split("base64,")[1])
            if "svg" in attrs["src"][:20]:
                self.charts[self.heading] = picture.decode()
            else:
                self.pictures[self.heading] = picture

    def handle_endtag(self, tag):
        if tag == "h1":
            self.title = self.text
        if tag == "h2":
            self.heading = self.text
            self.tables[self.heading] = []
        if tag == "p" and not self.tables:
            self.answer.append(self.text)
        if tag == "summary":
            self.hidden -= 1
        if tag in ("th", "td"):
            self.row.append(self.text if self.value is None else self.value)
        if tag == "tr":
            self.tables[self.heading].append(self.row)

    def handle_data(self, data):
        if self.text is not None and not self.hidden:
            self.text += data

    def rows(self, heading):
        """The first column is the key."""
        return [dict(zip(self.tables[heading][0], r)) for r in self.tables[heading][1:]]
