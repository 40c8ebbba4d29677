package docs

import (
	"fmt"
	"math"
	"strings"
)

// drawing is a picture in SVG, on a white ground that both themes of a page show. Positions
// are in pixels, from the corner at the top left.
type drawing struct {
	body          strings.Builder
	width, height int
}

const (
	cellSize = 34
	ink      = "#1f2328"
	faded    = "#8c959f"
)

func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(&d.body, format+"\n", args...) }

// reach makes the picture as large as to hold a point.
func (d *drawing) reach(x, y int) {
	d.width, d.height = max(d.width, x), max(d.height, y)
}

// hue is the colour of element i of n of a tensor's memory: pale, and as far from the others as
// can be. Each of red, green and blue is largest a third of the way around.
func hue(i, n int) string {
	part := func(third float64) int {
		at := math.Abs(math.Mod(float64(i)/float64(max(n, 1))+third, 1)*6 - 3) // 3 where it is largest, 0 opposite
		return 184 + int(58*min(max(at-1, 0), 1))
	}
	return fmt.Sprintf("#%02x%02x%02x", part(0), part(2.0/3), part(1.0/3))
}

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// text writes a line whose middle, begin or end (the anchor) is at x.
func (d *drawing) text(x, y int, anchor, colour, s string) {
	d.printf(`<text x="%d" y="%d" text-anchor="%s" fill="%s">%s</text>`, x, y, anchor, colour, escape.Replace(s))
	d.reach(x+9*len([]rune(s))/map[string]int{"start": 1, "middle": 2, "end": 1 << 20}[anchor], y+8)
}

// cell draws an element; one that only repeats another has a broken edge.
func (d *drawing) cell(x, y int, fill, label string, repeats bool) {
	dash, colour := "", ink
	if repeats {
		dash, colour = ` stroke-dasharray="3 3"`, faded
	}
	d.printf(`<rect x="%d" y="%d" width="%d" height="%d" fill="%s" stroke="%s"%s/>`, x, y, cellSize, cellSize, fill, colour, dash)
	d.text(x+cellSize/2, y+22, "middle", colour, label)
	d.reach(x+cellSize+1, y+cellSize+1)
}

// box draws a frame around a label, its middle at x and y.
func (d *drawing) box(x, y, width int, fill, label string) {
	d.printf(`<rect x="%d" y="%d" width="%d" height="28" rx="6" fill="%s" stroke="%s"/>`, x-width/2, y-14, width, fill, ink)
	d.text(x, y+5, "middle", ink, label)
	d.reach(x+width/2+1, y+15)
}

// arrow draws a line with a head at its end.
func (d *drawing) arrow(x1, y1, x2, y2 int, colour string) {
	d.printf(`<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s" stroke-width="1.5" marker-end="url(#%s)"/>`, x1, y1, x2, y2, colour, head(colour))
	d.reach(max(x1, x2), max(y1, y2))
}

func head(colour string) string { return "head" + strings.TrimPrefix(colour, "#") }

// marker defines the heads of arrows of a colour.
func marker(colour string) string {
	return fmt.Sprintf(`<marker id="%s" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="%s"/></marker>`,
		head(colour), colour)
}

// svg returns the picture as a file.
func (d *drawing) svg(title string) string {
	w, h := d.width+16, d.height+12
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" font-family="ui-monospace,Menlo,Consolas,monospace" font-size="14">
<title>%s</title>
<defs>%s%s</defs>
<rect width="%d" height="%d" rx="6" fill="#ffffff"/>
%s</svg>
`, w, h, w, h, escape.Replace(title), marker(forward), marker(backwards), w, h, d.body.String())
}
