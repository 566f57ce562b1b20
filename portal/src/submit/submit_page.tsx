export default function P(_: any) { return null; }
