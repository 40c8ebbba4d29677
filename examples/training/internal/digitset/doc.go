// Package digitset has images of handwritten digits.
//
// The file digits.csv.gz has 1797 images of 8 by 8 pixels from 0 to 16, and for each which digit it
// is: the test set of "Optical Recognition of Handwritten Digits" by E. Alpaydin and C. Kaynak, UCI
// Machine Learning Repository (1998), https://doi.org/10.24432/C50P49, under CC BY 4.0
// (https://creativecommons.org/licenses/by/4.0/), in the file that scikit-learn ships, compressed
// again.
package digitset
