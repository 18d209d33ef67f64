# publish_packages FOLDER KIND…: to bare repositories in FOLDER. Tests run before a commit too, so FOLDER/tree is a repository
# with a commit of the working tree, and that is published.
publish_packages() {
    local folder=$1 git kind repository
    export GIT_AUTHOR_NAME=Gatehouse GIT_AUTHOR_EMAIL=gatehouse@localhost
    export GIT_COMMITTER_NAME=$GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL
    git init -q "$folder/tree"
    git=(git --git-dir="$folder/tree/.git" --work-tree="$root")
    "${git[@]}" add --all
    "${git[@]}" commit -q -m "The working tree"
    git -C "$folder/tree" reset -q --hard
    for kind in "${@:2}"; do
        repository=$folder/gatehouse-${kind/client/swift}
        git init -q --bare -b main "$repository"
        "$folder/tree/tools/publish.sh" "$kind" "file://$repository" &>"$folder/output" ||
            fail "the package $kind cannot be published: $(cat "$folder/output")"
    done
}
