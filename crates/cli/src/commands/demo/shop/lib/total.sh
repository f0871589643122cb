# The prices of the items named, added up.
total() {
    sum=0
    for item in "$@"; do
        price=$(sed -n "s/^$item //p" prices.txt)
        sum=$price
    done
    echo "$sum"
}
