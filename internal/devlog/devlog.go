package devlog

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// The counts before the first record, of 32 bits each: not every device adds to more
// bits at once.
const (
	Used   = 0 // words that records have taken, those without room included
	Lost   = 1 // records that found no room; it stops at Most or a little above
	Failed = 2 // those of them that told of a failure
	Which  = 4 // from here on a bit for each launch of those: see FailedBit

	// FailedBits is how many launches have bits of their own, a power of two.
	FailedBits = 4096

	Counts = Which + FailedBits/32 // how many counts there are
)

// CountBytes is the room that the counts take. The records follow.
const CountBytes = 4 * Counts

// FailedBit reports whether a launch of this number has lost the record of a failure.
// Launches whose numbers differ by a multiple of FailedBits share a bit.
func FailedBit(counts []uint32, launch uint32) bool {
	i := launch % FailedBits
	return counts[Which+i/32]>>(i%32)&1 != 0
}

// SetFailedBit sets the bit of a launch.
func SetFailedBit(counts []uint32, launch uint32) {
	i := launch % FailedBits
	counts[Which+i/32] |= 1 << (i % 32)
}

// Most is a limit that keeps counts from beginning again at zero: no log has as many
// words. Counts go above it by what threads add that run at the same time.
const Most = 1 << 31

// The words of a record. Values follow as 64 bits each: integers extended by
// their sign, float64 and float32 as their bits, shorter floats as float32, bools as 0
// and 1.
const (
	RecordSite   = 0 // number of the site, from 1
	RecordLaunch = 1 // number of the launch, with the kernel's in the upper half
	RecordBlock  = 2 // x of the block, with y in the upper half
	RecordMiddle = 3 // z of the block, with x of the thread in the upper half
	RecordThread = 4 // y of the thread, with z in the upper half
	RecordHeader = 5 // how many words there are
)

// Log says what a kernel writes to the device log.
type Log struct {
	Kernel string `json:"kernel"`
	// Offset is where a launch passes the log in the argument block: the address and
	// the number of counts, the address and the number of words for records, and what
	// RecordLaunch is to be.
	Offset int    `json:"offset"`
	Sites  []Site `json:"sites"`
}

// ArgBytes is the room that a log takes in the argument block.
const ArgBytes = 40

// FailureValues is how many values a record of a failure has, used or not: all
// failures of a kernel share the code that writes them.
const FailureValues = 2

// Site is a place that writes records: a call of dsl.Printf or dsl.Assert, or a check.
type Site struct {
	Text   string   `json:"text,omitempty"`   // format or message
	Pos    int      `json:"pos"`              // in the kernel's position table
	Place  string   `json:"-"`                // what that says: file and line
	Fails  bool     `json:"fails,omitempty"`  // a record tells of a failure
	Check  Check    `json:"check,omitempty"`  // of what
	Values []string `json:"values,omitempty"` // types of the values: i8, u64, f32, bool …
}

// Record is one entry of a log.
type Record struct {
	Log           *Log
	Site          *Site
	Replay        int // of the graph whose log it is, counted from the latest reading
	Launch        uint32
	Block, Thread [3]int
	Values        []any
}

// Read returns the records among the words behind the counts, ordered by replay, launch,
// block and thread. ends is how many words were used after each replay of a graph, nil if the
// log is not a graph's. kernels returns the log of a kernel by its number; records of unknown
// kernels end the reading.
func Read(words []uint64, ends []uint32, kernels func(id uint32) *Log) []Record {
	var list []Record
	total, replay := len(words), 0
	for len(words) >= RecordHeader && words[RecordSite] != 0 {
		log := kernels(uint32(words[RecordLaunch] >> 32))
		n := words[RecordSite]
		if log == nil || n > uint64(len(log.Sites)) {
			break
		}
		site := &log.Sites[n-1]
		size := RecordHeader + len(site.Values)
		if size > len(words) {
			break
		}
		for replay < len(ends) && total-len(words) >= int(ends[replay]) {
			replay++
		}
		r := record(words[:size], log, site)
		r.Replay = replay
		list = append(list, r)
		words = words[size:]
	}
	slices.SortStableFunc(list, Record.compare)
	return list
}

func record(words []uint64, log *Log, site *Site) Record {
	low := func(i int) int { return int(uint32(words[i])) }
	high := func(i int) int { return int(words[i] >> 32) }
	r := Record{
		Log: log, Site: site, Launch: uint32(words[RecordLaunch]),
		Block:  [3]int{low(RecordBlock), high(RecordBlock), low(RecordMiddle)},
		Thread: [3]int{high(RecordMiddle), low(RecordThread), high(RecordThread)},
	}
	for i, t := range site.Values {
		r.Values = append(r.Values, value(t, words[RecordHeader+i]))
	}
	return r
}

// compare orders by replay, launch, block and thread, x fastest.
func (r Record) compare(o Record) int {
	c := cmp.Or(cmp.Compare(r.Replay, o.Replay), cmp.Compare(r.Launch, o.Launch))
	for _, pair := range [][2][3]int{{r.Block, o.Block}, {r.Thread, o.Thread}} {
		for axis := 2; axis >= 0 && c == 0; axis-- {
			c = cmp.Compare(pair[0][axis], pair[1][axis])
		}
	}
	return c
}

// value returns the Go value of type t that word holds.
func value(t string, word uint64) any {
	switch t {
	case "bool":
		return word != 0
	case "i8":
		return int8(word)
	case "u8":
		return uint8(word)
	case "i16":
		return int16(word)
	case "u16":
		return uint16(word)
	case "i32":
		return int32(word)
	case "u32":
		return uint32(word)
	case "i64":
		return int64(word)
	case "u64":
		return word
	case "f64":
		return math.Float64frombits(word)
	}
	return math.Float32frombits(uint32(word))
}

// Text is what the record prints.
func (r Record) Text() string { return fmt.Sprintf(r.Site.Text, r.Values...) }

// Failure is the failure of a thread.
type Failure struct {
	Record Record
	More   uint64 // how many threads failed besides
}

// Error names the place, the kernel, the block, the thread and what happened.
func (f *Failure) Error() string {
	r := f.Record
	line := Line(r.Site.Place, r.Log.Kernel, r.Block, r.Thread, r.message())
	if f.More > 0 {
		line += fmt.Sprintf(" (and %d more)", f.More)
	}
	return line
}

func (r Record) message() string {
	var values [FailureValues]any
	copy(values[:], r.Values)
	switch r.Site.Check {
	case Assert, AssertOne, AssertTwo:
		return r.Site.Check.AssertedOf(r.Site.Text, values[0], values[1])
	case Nil:
		return NilPointer
	case Divide:
		return DividedByZero(values[0])
	case Shift:
		return NegativeShift(values[0])
	}
	x, _ := values[0].(int64)
	n, _ := values[1].(int64)
	return r.Site.Check.OutOfRange(x, n)
}
