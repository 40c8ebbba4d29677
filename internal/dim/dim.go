package dim

// Dim3 is a size in up to three dimensions. A zero Y or Z means 1.
type Dim3 struct{ X, Y, Z int }

// Count is the number of elements, 0 if X is 0.
func (d Dim3) Count() int {
	a := Array(d)
	return a[0] * a[1] * a[2]
}

// Array is the sizes with the defaults filled in.
func Array(d Dim3) [3]int {
	if d.Y == 0 {
		d.Y = 1
	}
	if d.Z == 0 {
		d.Z = 1
	}
	return [3]int{d.X, d.Y, d.Z}
}
