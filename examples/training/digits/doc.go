// Command digits trains a small convolutional network to read handwritten digits, tests it with digits
// that it has not seen, and draws the loss. From the root of the repository:
//
//	go run -C examples/training ./digits
//	go run -C examples/training ./digits -checkpoint digits.safetensors
//
// With -checkpoint it saves after each epoch, and goes on there when it is started again: with the same
// bits as if it had never been stopped.
//
// # The digits
//
// digits.csv.gz has 1797 images of 8 by 8 pixels from 0 to 16, and for each which digit it is: the test set
// of "Optical Recognition of Handwritten Digits" by E. Alpaydin and C. Kaynak, UCI Machine Learning
// Repository (1998), https://doi.org/10.24432/C50P49, under CC BY 4.0
// (https://creativecommons.org/licenses/by/4.0/), in the file that scikit-learn ships, compressed again.
package main
