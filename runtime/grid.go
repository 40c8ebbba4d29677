package runtime

// Dim3 is a size in up to three dimensions. A zero Y or Z means 1.
type Dim3 struct{ X, Y, Z int }

// Count is the number of elements, 0 if X is 0.
func (d Dim3) Count() int {
	d = d.full()
	return d.X * d.Y * d.Z
}

// full is d with the defaults filled in.
func (d Dim3) full() Dim3 {
	if d.Y == 0 {
		d.Y = 1
	}
	if d.Z == 0 {
		d.Z = 1
	}
	return d
}

func (d Dim3) array() [3]int {
	d = d.full()
	return [3]int{d.X, d.Y, d.Z}
}

// Grid is the shape of a launch: how many blocks of how many threads.
type Grid struct{ Blocks, Threads Dim3 }

// Blocks is a grid of b blocks of t threads in one dimension.
func Blocks(b, t int) Grid { return Grid{Dim3{X: b}, Dim3{X: t}} }

// Cover is the smallest grid of blocks of that many threads with at least one
// thread for each of n elements. For n = 0 it has no blocks, and launching it
// does nothing.
func Cover(n, threads int) Grid {
	if n <= 0 || threads <= 0 {
		return Blocks(0, threads)
	}
	return Blocks((n-1)/threads+1, threads)
}
