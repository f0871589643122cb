# What becomes of a sum in cents, for so many items.
rules() {
    cents=$1 items=$2
    if [ "$items" -ge 3 ]; then cents=$((cents * 90 / 100)); fi
    cents=$((cents * 108 / 100))
    echo "$cents"
}
