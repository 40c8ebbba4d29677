package tensorfile

// AtOnce has so many elements quantized at a time, until back is called.
func AtOnce(n int) (back func()) {
	old := elementsAtOnce
	elementsAtOnce = n
	return func() { elementsAtOnce = old }
}
