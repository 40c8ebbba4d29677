package dump

import (
	"bufio"
	_ "embed"
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

//go:embed page.css
var style string

//go:embed page.js
var script string

// WriteHTML writes the page as one HTML file that needs no other.
func (p *Page) WriteHTML(w io.Writer) error {
	h := &htmlWriter{Writer: bufio.NewWriter(w), places: map[ir.Pos]string{}}
	h.put("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>%s for %s</title>\n<style>\n", p.Kernel, p.Target)
	h.raw(style + "</style>\n</head>\n<body>\n")
	h.header(p)
	h.raw("<main>\n")
	h.sources(p.Sources)
	for _, c := range p.Columns {
		h.column(c)
	}
	if p.Log != "" {
		h.open("log", "vendor's log", "", true)
		h.put("<div class=\"body\"><pre class=\"log\">%s</pre>", p.Log)
		h.raw("</div></section>\n")
	}
	h.raw("</main>\n<script>\n" + script + "</script>\n</body>\n</html>\n")
	if err := h.Flush(); err != nil {
		return fmt.Errorf("writing page of %s: %w", p.Kernel, err)
	}
	return nil
}

// htmlWriter keeps the first write error, as bufio does.
type htmlWriter struct {
	*bufio.Writer
	places map[ir.Pos]string // names of source lines
}

func (h *htmlWriter) raw(s string) { h.WriteString(s) }

// put is Fprintf with texts escaped.
func (h *htmlWriter) put(format string, args ...any) {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = html.EscapeString(s)
		}
	}
	fmt.Fprintf(h, format, args...)
}

// place returns the short name of a source line, by which the script finds all
// that comes from it.
func (h *htmlWriter) place(file string, line int) string {
	p := ir.Pos{File: file, Line: line}
	name, ok := h.places[p]
	if !ok {
		name = strconv.Itoa(len(h.places))
		h.places[p] = name
	}
	return name
}

func (h *htmlWriter) header(p *Page) {
	h.put("<header>\n<h1>%s<span class=\"target\">%s</span></h1>\n<div class=\"facts\">\n", p.Kernel, p.Target)
	if r := p.Resources; p.Target.Kind == target.PTX {
		h.resources(r)
	} else {
		h.fact("shared memory of a block", strconv.Itoa(r.Shared)+" B", false)
		h.raw("<span>The CPU interprets the IR of the last column.</span>\n")
	}
	h.raw("<span class=\"legend\"><i style=\"background:var(--add)\">new</i> <i style=\"background:var(--del)\">gone after</i> " +
		"<span class=\"act\">click values, registers, labels and lines to mark them everywhere; Esc clears</span></span>\n" +
		"<span class=\"tools\"><button id=\"unfold\">unfold all</button><button id=\"fold\">fold</button><button id=\"clear\">clear marks</button></span>\n</div>\n")
	h.occupancy(Occupancies(p.Target, p.Resources))
	h.layouts(p.Layouts)
	if p.Problem != "" {
		h.put("<div class=\"problem\">%s</div>\n", p.Problem)
	}
	h.raw("</header>\n")
}

func (h *htmlWriter) fact(name, value string, warn bool) {
	class := ""
	if warn {
		class = " class=\"warn\""
	}
	fmt.Fprintf(h, "<span%s>%s <b>%s</b></span>\n", class, html.EscapeString(name), html.EscapeString(value))
}

func (h *htmlWriter) resources(r Resources) {
	if r.Known {
		h.fact("registers", strconv.Itoa(r.Registers), false)
		h.fact("spills", fmt.Sprintf("%d B stored, %d B loaded", r.SpillStores, r.SpillLoads), r.SpillStores+r.SpillLoads > 0)
		h.fact("local memory of a thread", strconv.Itoa(r.Local)+" B", false)
	} else {
		h.raw("<span>registers and spills unknown: no assembler was asked</span>\n")
	}
	h.fact("shared memory of a block", strconv.Itoa(r.Shared)+" B", false)
}

func (h *htmlWriter) occupancy(list []Occupancy) {
	if len(list) == 0 {
		return
	}
	best := list[0]
	for _, o := range list {
		if o.Warps > best.Warps {
			best = o
		}
	}
	h.put("<details><summary>occupancy, estimated: at most %d %% (block of %d threads)</summary>\n<table class=\"occupancy\">\n", best.Percent(), best.Threads)
	h.raw("<tr><th>threads a block</th><th>blocks</th><th>warps</th><th>occupancy</th><th>limited by</th></tr>\n")
	for _, o := range list {
		h.put("<tr><td>%d</td><td>%d</td><td>%d of %d</td><td>%d %%</td><td>%s</td></tr>\n", o.Threads, o.Blocks, o.Warps, o.MaxWarps, o.Percent(), o.Limit)
	}
	h.raw("</table></details>\n")
}

// layouts draws matrices, one below the other.
func (h *htmlWriter) layouts(list []Layout) {
	for _, l := range list {
		h.put("<details><summary>%s</summary>\n<p>%s</p>\n<table class=\"layout\">\n<tr><th></th>", l.Title, l.Note)
		for c := range l.Cells[0] {
			h.put("<th>%d</th>", c)
		}
		h.raw("</tr>\n")
		for r, cells := range l.Cells {
			h.put("<tr><th>%d</th>", r)
			for _, cell := range cells {
				h.put("<td>%s</td>", cell)
			}
			h.raw("</tr>\n")
		}
		h.raw("</table></details>\n")
	}
}

// open begins a column.
func (h *htmlWriter) open(class, title, extra string, unfolded bool) {
	state := " data-open"
	if !unfolded {
		class, state = strings.TrimSpace(class+" folded"), ""
	}
	h.put("<section class=\"%s\""+state+">\n<h2>%s<small>%s</small></h2>\n", class, title, extra)
}

func (h *htmlWriter) sources(list []Source) {
	h.open("source", "Go", "", true)
	h.raw("<div class=\"body\">\n")
	for _, s := range list {
		h.source(s)
	}
	h.raw("</div></section>\n")
}

func (h *htmlWriter) source(s Source) {
	h.put("<div class=\"file\">%s</div>\n", s.File)
	for i, part := range s.Parts {
		if i > 0 {
			h.raw("<div class=\"l gap\">⋯</div>\n")
		}
		for _, l := range part {
			h.sourceLine(s.File, l)
		}
	}
}

func (h *htmlWriter) sourceLine(file string, l SourceLine) {
	if l.Reached {
		fmt.Fprintf(h, "<div class=\"l\" data-l=\"%s\" data-n=\"%d\">", h.place(file, l.N), l.N)
	} else {
		h.raw("<div class=\"l dead\">")
	}
	fmt.Fprintf(h, "<span class=\"n\">%d</span><span class=\"t\">", l.N)
	for _, t := range l.Tokens {
		if t.Class == "" {
			h.put("%s", t.Text)
		} else {
			h.put("<span class=\"%s\">%s</span>", t.Class, t.Text)
		}
	}
	h.raw("</span></div>\n")
}

func (h *htmlWriter) column(c *Column) {
	added, removed := 0, 0
	for _, l := range c.Lines {
		if l.Mark&Added != 0 {
			added++
		}
		if l.Mark&Removed != 0 {
			removed++
		}
	}
	var counts []string
	if added > 0 {
		counts = append(counts, fmt.Sprintf("+%d", added))
	}
	if removed > 0 {
		counts = append(counts, fmt.Sprintf("−%d", removed))
	}
	h.open("", c.Title, strings.Join(counts, " "), c.Open)
	note := c.Note
	if len(c.Same) > 0 {
		note += " Nothing changed in: " + strings.Join(c.Same, ", ") + "."
	}
	h.put("<p class=\"note\">%s</p>\n<div class=\"body\">\n", note)
	for _, l := range c.Lines {
		h.line(l)
	}
	h.raw("</div></section>\n")
}

func (h *htmlWriter) line(l Line) {
	class := "l"
	for _, c := range []struct {
		on   bool
		name string
	}{{l.Indent, " in"}, {l.Head, " head"}, {l.Mark&Added != 0, " add"}, {l.Mark&Removed != 0, " del"}} {
		if c.on {
			class += c.name
		}
	}
	h.put("<div class=\"%s\"", class)
	n := ""
	if l.Pos.Line > 0 {
		n = strconv.Itoa(l.Pos.Line)
		h.put(" data-l=\"%s\" title=\"%s:%s\"", h.place(l.Pos.File, l.Pos.Line), l.Pos.File, n)
	}
	h.put("><span class=\"n\">%s</span><span class=\"t\">", n)
	for _, t := range l.Tokens {
		if t.Ref == "" {
			h.put("%s", t.Text)
		} else {
			h.put("<span class=\"v\" data-v=\"%s\">%s</span>", t.Ref, t.Text)
		}
	}
	h.raw("</span></div>\n")
}
